import { purchaseKey } from "../../../lib/identifiers.ts";
import { encodeHoldings, holdings, renewalCodec } from "../../../lib/table/customers/items.ts";
import { aLine, aPurchase, aRenewal } from "../../../testing/support/stores/purchases.ts";

const LINE = aLine({
  transactionIdentifier: "2000",
  event: "event",
  productIdentifier: "yearly",
  basePlanIdentifier: "base",
  purchaseOptionIdentifier: "option",
  nature: "consumable",
  standing: "billing_retry",
  startsAt: 1,
  purchasedAt: 2,
  endsAt: 3,
  revokedAt: 4,
  revokedSince: 5,
  quantity: 6,
  refundedQuantity: 7,
  rented: true,
  willRenew: false,
  verifiedAt: 8,
  further: ["line's"],
});

const RENEWAL = aRenewal({
  periodEndsAt: 11,
  willRenew: true,
  renewsInto: "monthly",
  graceEndsAt: 12,
  isInBillingRetry: true,
  expirationIntent: 13,
  signedAt: 14,
  status: { isInGrace: true, periodEndsAt: 15, signedAt: 16 },
  further: ["renewal's"],
});

test("a holding's stored bytes stay the same, and are read with a later version's additions", () => {
  const holding = aPurchase({
    store: "ios-store",
    environment: "sandbox",
    key: "1000",
    lines: [LINE],
    replacedBy: purchaseKey("1001"),
    replacedAt: 9,
    renewal: RENEWAL,
    further: ["holding's"],
  });
  expect(JSON.stringify(encodeHoldings([holding]))).toBe(
    '[[1,1,"1000",[["2000","yearly","base",3,2,1,3,4,false,8,"event","option",2,true,6,7,5,"line\'s"]],' +
      '"1001",9,[11,true,"monthly",12,true,13,14,[true,15,16],"renewal\'s"],"holding\'s"]]',
  );
  expect(holdings().parse(encodeHoldings([holding]))).toEqual([holding]);
});

test("a scarcely known holding's stored bytes stay the same, and are read", () => {
  const unknown = { transactionIdentifier: null, event: null, startsAt: null, endsAt: null };
  const holding = aPurchase({ store: "android-store", lines: [aLine({ ...unknown, verifiedAt: 1 })] });
  expect(JSON.stringify(encodeHoldings([holding]))).toBe(
    '[[0,0,"1",[[null,"monthly",null,0,0,null,null,null,null,1,null,null,null,false,1,0,null]],null,null,null]]',
  );
  expect(holdings().parse(encodeHoldings([holding]))).toEqual([holding]);
});

test.each([[null], [{ isInGrace: true, periodEndsAt: null, signedAt: 3 }]])(
  "a renewal info is read as it was stored: %j",
  (status) => {
    const renewal = aRenewal({ status });
    expect(renewalCodec.decode(renewalCodec.encode(renewal))).toEqual(renewal);
  },
);

test("a status of another shape is malformed", () => {
  const encoded: unknown = renewalCodec.encode(aRenewal());
  if (!Array.isArray(encoded)) throw new TypeError("a renewal info is stored as a list");
  const decodeWith = (status: unknown) => renewalCodec.decode([...encoded.slice(0, 7), status]);
  expect(() => decodeWith(["yes", 2, 3])).toThrow(TypeError);
  expect(decodeWith([true, 2, 3]).status).toEqual({ isInGrace: true, periodEndsAt: 2, signedAt: 3 });
});
