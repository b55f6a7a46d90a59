import { createRemoteJWKSet, jwtVerify } from "jose";
import { ZodError } from "zod";
import { createAndroidPublisherSandbox } from "../../../../sandbox/android-store/publisher.ts";
import { NOW } from "../../../../testing/support/stores/android-store.ts";
import { startTimedAndroidStore, timedAndroidStoreForEachTest } from "./timed-android-store.ts";

const timed = timedAndroidStoreForEachTest();

test("a saved store still sends what waits, with the same keys", async () => {
  timed.answers.push(503);
  timed.buy();
  await timed.sandbox.pushed();
  const { body, headers } = timed.pushes[0] ?? {};
  const saved = timed.sandbox.save();
  await timed.close();

  Object.assign(timed, await startTimedAndroidStore({ saved }));
  expect(timed.pushes).toEqual([]);
  await timed.advanceTo(NOW + 10_000);
  expect(timed.pushes[0]?.body).toEqual(body);
  const token = headers?.authorization?.replace("Bearer ", "") ?? "";
  const keys = createRemoteJWKSet(new URL(`${timed.rootUrl}certs`));
  await expect(jwtVerify(token, keys, { currentDate: new Date(NOW) })).resolves.toBeDefined();
});

test("a store that is reset has sold nothing, and sends nothing again", async () => {
  timed.answers.push(503);
  const [sold, dropped] = [timed.buy(), timed.buy()];
  timed.sandbox.drop(dropped);
  await timed.sandbox.pushed();
  timed.sandbox.reset();
  expect(timed.sandbox.nextEventAt()).toBeNull();
  expect(await timed.standing(sold)).toBe("rejected");
  expect(await timed.standing(dropped)).toBe("rejected");
  // Without the keys, which no failing test should print.
  const { keys: _, ...rest }: Record<string, unknown> = JSON.parse(timed.sandbox.save());
  expect(rest).toEqual({
    shop: { time: 0, purchases: [], dropped: [], voided: [], orders: [] },
    pushes: [],
  });
});

test.each(["", "{}", "null", '{"shop":{}}'])("what is not a saved store is refused: %j", (saved) => {
  expect(() => createAndroidPublisherSandbox({ now: () => NOW, saved })).toThrow(ZodError);
});
