import { decodeRenewal, encodeRenewal, isEncodedRenewal } from "../../lib/table/renewals.ts";
import { aRenewal } from "../../testing/support/purchases.ts";

const status = { isInGrace: true, periodEndsAt: 2, signedAt: 3 };

test.each([[null], [status], [{ ...status, periodEndsAt: null }]])(
  "a renewal info is read as it was stored: %j",
  (said) => {
    const renewal = aRenewal({ status: said });
    expect(isEncodedRenewal(encodeRenewal(renewal))).toBe(true);
    expect(decodeRenewal(encodeRenewal(renewal))).toEqual(renewal);
    const newer = { ...renewal, further: ["of a newer version"] };
    expect(decodeRenewal(encodeRenewal(newer))).toEqual(newer);
  },
);

test("a status of another shape is malformed", () => {
  const encoded = encodeRenewal(aRenewal());
  expect(isEncodedRenewal([...encoded.slice(0, 7), ["yes", 2, 3]])).toBe(false);
});
