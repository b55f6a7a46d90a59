import { decodeRenewal, encodeRenewal, isEncodedRenewal } from "../../lib/table/renewals.ts";
import { aRenewal } from "../../testing/support/purchases.ts";

test.each([true, false])("a renewal info is read as it was stored: in grace %p", (isInGrace) => {
  const renewal = aRenewal({ isInGrace });
  expect(isEncodedRenewal(encodeRenewal(renewal))).toBe(true);
  expect(decodeRenewal(encodeRenewal(renewal))).toEqual(renewal);
  const newer = { ...renewal, further: ["of a newer version"] };
  expect(decodeRenewal(encodeRenewal(newer))).toEqual(newer);
});

test("a renewal info that was stored without the word of a grace period has none", () => {
  const older: unknown = encodeRenewal(aRenewal({ isInGrace: true })).slice(0, 7);
  if (!isEncodedRenewal(older)) throw new Error("The older form is refused.");
  expect(decodeRenewal(older)).toEqual(aRenewal());
  expect(isEncodedRenewal([...older.slice(0, 7), "yes"])).toBe(false);
});
