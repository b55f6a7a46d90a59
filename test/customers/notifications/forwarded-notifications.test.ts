import type { IosStoreNotifications } from "../../../lib/applications/fields.ts";
import type { IosStoreReception } from "../../../lib/customers/receive-ios-store-notification.ts";
import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { aBundle, aNotification, BUNDLE } from "../../../testing/support/stores/ios-store.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { refusal } from "../../../testing/support/world.ts";
import { aNotifiedApplication, chain, notifiedApp } from "./notified-app.ts";

const table = await aUseCaseTable();
const TO_OLD: IosStoreNotifications = { forwardTo: "https://old.example/apple" };
const fails = () => Promise.reject(new Error("The table does not answer."));

test.each<
  [
    what: string,
    notifications: IosStoreNotifications | null,
    signer: typeof chain,
    changes: Partial<IosStoreReception>,
    answer: string,
    count: number,
  ]
>([
  ["that is verified is forwarded", TO_OLD, chain, {}, "accepted", 1],
  ["that is forged is not", TO_OLD, makeChain(), {}, "INVALID_NOTIFICATION", 0],
  ["of a bundle that does not forward is not", null, chain, {}, "accepted", 0],
  ["that another service forwards is not", { forwardedBy: true }, chain, {}, "accepted", 0],
  ["that this service cannot store is forwarded", TO_OLD, chain, { write: fails }, "STORE_UNAVAILABLE", 1],
  ["that cannot be queued comes again", TO_OLD, chain, { forward: fails }, "STORE_UNAVAILABLE", 0],
])("a notification %s", async (_, notifications, signer, changes, answer, count) => {
  const forwarded: unknown[] = [];
  const forward = (...place: readonly unknown[]) => {
    forwarded.push(place);
    return Promise.resolve();
  };
  const application = aNotifiedApplication({ iosStore: [aBundle({ notifications })] });
  const app = notifiedApp(table, { forward, ...changes }, application);
  expect(await refusal(app.sendSigned(signJws(aNotification(chain), signer)))).toBe(answer);
  expect(forwarded).toEqual([[application.identifier, BUNDLE]].slice(0, count));
});
