import { createRemoteJWKSet, jwtVerify } from "jose";
import { ZodError } from "zod";
import { createAndroidPublisherSandbox } from "../../../../sandbox/android-store/publisher.ts";
import { NOW } from "../../../../testing/support/stores/android-store.ts";
import { startTimedAndroidStore, type TimedAndroidStore } from "./timed-android-store.ts";

const open: TimedAndroidStore[] = [];
const start = async (saved: string | null = null): Promise<TimedAndroidStore> => {
  const timed = await startTimedAndroidStore({ saved });
  open.push(timed);
  return timed;
};
afterEach(async () => {
  for (const timed of open.splice(0)) await timed.close();
});

/** Without the keys, which no failing test should print. */
const shopOf = ({ sandbox }: TimedAndroidStore): unknown => {
  const { keys: _, ...rest }: Record<string, unknown> = JSON.parse(sandbox.save());
  return rest;
};

test("a saved store still sends what waits, with the same keys", async () => {
  const before = await start();
  before.answers.push(503);
  before.buy();
  await before.sandbox.pushed();
  const { body, headers } = before.pushes[0] ?? {};

  const after = await start(before.sandbox.save());
  await after.advanceTo(NOW + 10_000);
  expect(after.pushes[0]?.body).toEqual(body);
  const token = headers?.authorization?.replace("Bearer ", "") ?? "";
  const keys = createRemoteJWKSet(new URL(`${after.rootUrl}certs`));
  await expect(jwtVerify(token, keys, { currentDate: new Date(NOW) })).resolves.toBeDefined();
});

test("a store that is reset has sold nothing, and sends nothing again", async () => {
  const timed = await start();
  timed.answers.push(503);
  const [sold, dropped] = [timed.buy(), timed.buy()];
  timed.sandbox.drop(dropped);
  await timed.sandbox.pushed();
  timed.sandbox.reset();
  expect(timed.sandbox.nextEventAt()).toBeNull();
  expect(await timed.standing(sold)).toBe("rejected");
  expect(await timed.standing(dropped)).toBe("rejected");
  expect(shopOf(timed)).toEqual({
    shop: { time: 0, purchases: [], dropped: [], voided: [], orders: [] },
    pushes: [],
  });
});

test.each(["", "{}", "null", '{"shop":{}}'])("what is not a saved store is refused: %j", (saved) => {
  expect(() => createAndroidPublisherSandbox({ now: () => NOW, saved })).toThrow(ZodError);
});
