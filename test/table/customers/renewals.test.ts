import { renewalCodec } from "../../../lib/table/customers/lines.ts";
import { aRenewal } from "../../../testing/support/stores/purchases.ts";

const status = { isInGrace: true, periodEndsAt: 2, signedAt: 3 };

test.each([[null], [status], [{ ...status, periodEndsAt: null }]])(
  "a renewal info is read as it was stored: %j",
  (said) => {
    const renewal = aRenewal({ status: said });
    expect(renewalCodec.is(renewalCodec.encode(renewal))).toBe(true);
    expect(renewalCodec.decode(renewalCodec.encode(renewal))).toEqual(renewal);
    const newer = { ...renewal, further: ["of a newer version"] };
    expect(renewalCodec.decode(renewalCodec.encode(newer))).toEqual(newer);
  },
);

test("a status of another shape is malformed", () => {
  const encoded: unknown = renewalCodec.encode(aRenewal());
  expect(Array.isArray(encoded) && renewalCodec.is([...encoded.slice(0, 7), ["yes", 2, 3]])).toBe(false);
  expect(Array.isArray(encoded) && renewalCodec.is([...encoded.slice(0, 7), [true, 2, 3]])).toBe(true);
});
