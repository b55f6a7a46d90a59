import { createRequestLog, type AnsweredRequest } from "../../../local/gateway/request-log.ts";

const REQUEST: AnsweredRequest = {
  method: "GET",
  path: "/v1/customers/somebody/entitlements",
  milliseconds: 3,
  requestId: "request",
  error: null,
  answered: { status: 200, headers: [], body: Buffer.from("{}") },
};
const TEXT = "GET /v1/customers/somebody/entitlements 200 3 ms";

/** A request log, and what it wrote. */
const createLog = () => {
  const written: string[] = [];
  const log = createRequestLog((text) => written.push(text));
  return { written, log, take: log.alsoTo() };
};

test("a request without its function's line is written at the end", () => {
  const { written, log, take } = createLog();
  log.answered(REQUEST);
  expect(written).toEqual([]);
  log.end();
  take(JSON.stringify({ outcome: "SUCCEEDED", requestId: "request" }));
  log.end();
  expect(written).toEqual([TEXT]);
});

test.each(["before", "after"])("a function's line that comes %s the answer adds its reason", (order) => {
  const { written, log, take } = createLog();
  const product = { productIdentifier: "coins", basePlanIdentifier: null, purchaseOptionIdentifier: null };
  const grantsNothing = [{ store: "ios-store", ...product, because: "unmapped" }];
  const line = JSON.stringify({ outcome: "SUCCEEDED", requestId: "request", grantsNothing });
  if (order === "before") take(line);
  log.answered(REQUEST);
  if (order === "after") take(line);
  log.end();
  expect(written).toEqual([`${TEXT}; ios-store coins grants nothing: the catalog does not map it`]);
});
