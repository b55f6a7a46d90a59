import { signJws } from "../../../sandbox/ios-store/signing.ts";
import { aNotification, anEnvelope, type Payload } from "../../../testing/support/stores/ios-store.ts";
import { post, type Attack, type Make, type Target } from "./attack.ts";
import { hostileValue, json, mutateText } from "./json.ts";
import { mutateJws } from "./jws.ts";
import { SIGNED, stranger, transactionOf } from "./payloads.ts";
import { genuinePush, pushed } from "./pushes.ts";

/** A notification that the service answers with 200, with other members of its envelope or of its data. */
const notificationOf = (
  target: Target,
  identifier: string,
  fields: Payload = {},
  data: Payload = {},
): Payload =>
  aNotification(
    target.chain,
    { transaction: transactionOf(target, identifier), renewalInfo: null },
    { signedDate: SIGNED, ...fields },
    { bundleId: target.bundleIdentifier, ...data },
  );

const notify = (target: Target, signedPayload: string, more: Pick<Attack, "note" | "forged">): Attack =>
  post(target, "receiveIosStoreNotification", json({ signedPayload }), more);

const ENVELOPE = [
  "notificationType",
  "subtype",
  "signedDate",
  "data",
  "summary",
  "appData",
  "externalPurchaseToken",
];
const DATA = ["bundleId", "appAppleId", "environment", "signedTransactionInfo", "signedRenewalInfo"];

export const envelope: Make = (target, dice, identifier) => {
  const member = dice.pick([...ENVELOPE, ...DATA]);
  const fields = { [member]: "hostile value" };
  const payload = DATA.includes(member)
    ? notificationOf(target, identifier, {}, fields)
    : notificationOf(target, identifier, fields);
  const text = json(payload).replace('"hostile value"', () => hostileValue(dice));
  return notify(target, signJws(text, target.chain), { note: `its ${member}`, forged: false });
};

export const forgery: Make = (target, dice, identifier) => {
  const { chain } = target;
  const payload = notificationOf(target, identifier);
  const other = transactionOf(target, `${identifier}9`);
  const carrying = (signedTransactionInfo: string): Payload =>
    notificationOf(target, identifier, {}, { signedTransactionInfo });
  const nested = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
  const [note, jws] = dice.pick<readonly [string, string]>([
    ["by a stranger", signJws(payload, stranger)],
    ["another kind in its place", signJws(other, chain)],
    ["parts of a stranger", signJws(carrying(signJws(other, stranger)), chain)],
    [
      "another app's transaction",
      signJws(carrying(signJws({ ...other, bundleId: "com.example.other" }, chain)), chain),
    ],
    [
      "another bundle",
      signJws(notificationOf(target, identifier, {}, { bundleId: "com.example.nobody" }), chain),
    ],
    ["its characters", mutateJws(signJws(payload, chain), dice).jws],
    ["from the future", signJws({ ...payload, signedDate: Date.UTC(2040, 0, 1) }, chain)],
    ["nesting within", signJws(json(anEnvelope({ notificationType: "x" })).replace('"x"', nested), chain)],
  ]);
  return notify(target, jws, { note, forged: true });
};

/** Bodies of either store's notifications. */
export const body: Make = (target, dice, identifier) => {
  const push = genuinePush(target);
  const isPush = dice.chance(0.5);
  const jws = signJws(notificationOf(target, identifier), target.chain);
  const text = isPush ? push.body : json({ signedPayload: jws });
  const [note, body] = dice.pick<readonly [string, Buffer | string]>([
    ["64 KiB of nesting", `{"signedPayload":${"[".repeat(65_000)}`],
    ["64 KiB of dots", json({ signedPayload: ".".repeat(65_000), message: { data: "A".repeat(65_000) } })],
    ["64 KiB of commas", `[${",".repeat(65_000)}`],
    ["a byte too many", text.replace(/\}$/, `,"x":"${"x".repeat(65_536)}"}`)],
    [
      "data of another type",
      text.replace(/"(data|signedPayload)":"[^"]*"/, (_, name: string) => `"${name}":${hostileValue(dice)}`),
    ],
    ["a hostile message", json({ message: "hostile" }).replace('"hostile"', () => hostileValue(dice))],
    ["its text", mutateText(text, dice)],
  ]);
  return isPush
    ? pushed(target, body, push.authorization, { note })
    : post(target, "receiveIosStoreNotification", body, { note });
};
