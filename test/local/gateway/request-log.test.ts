import { functionLineIn, requestText } from "../../../local/gateway/request-log.ts";

test("a function's line adds its reason", () => {
  const product = { productIdentifier: "coins", basePlanIdentifier: null, purchaseOptionIdentifier: null };
  const grantsNothing = [{ store: "ios-store", ...product, because: "unmapped" }];
  const line = functionLineIn(JSON.stringify({ outcome: "OK", message: "request", grantsNothing }));
  const answered = { status: 200, headers: [], body: Buffer.from("{}") };
  const request = {
    method: "GET",
    path: "/v1/customers/somebody/entitlements",
    milliseconds: 3,
    error: null,
  };
  expect(requestText({ ...request, answered, line })).toBe(
    "GET /v1/customers/somebody/entitlements 200 3 ms; ios-store coins grants nothing: the catalog does not map it",
  );
});
