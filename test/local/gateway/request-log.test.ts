import { createRequestLog, type AnsweredRequest } from "../../../local/gateway/request-log.ts";

const answeredRequest = (writtenUnder: readonly string[]): AnsweredRequest => ({
  method: "GET",
  path: "/v1/customers/somebody/entitlements",
  status: 200,
  milliseconds: 3,
  writtenUnder,
  refusal: null,
  because: null,
});
const TEXT = "GET /v1/customers/somebody/entitlements 200 3 ms";

/** A request log, and what it wrote. */
const createLog = () => {
  const written: string[] = [];
  return { written, log: createRequestLog((text) => written.push(text)) };
};

test("a request without its function's line is written at the end", () => {
  const { written, log } = createLog();
  log.answered(answeredRequest(["request", "invocation"]));
  expect(written).toEqual([]);
  log.end();
  expect(written).toEqual([TEXT]);
  log.take(JSON.stringify({ outcome: "SUCCEEDED", requestId: "request" }));
  log.end();
  expect(written).toEqual([TEXT]);
});

test.each(["before", "after"])("a function's line that comes %s the answer adds its reason", (order) => {
  const { written, log } = createLog();
  const line = JSON.stringify({
    outcome: "SUCCEEDED",
    requestId: "request",
    grantsNothing: [
      {
        store: "ios-store",
        productIdentifier: "com.example.coins",
        basePlanIdentifier: null,
        purchaseOptionIdentifier: null,
        because: "unmapped",
      },
    ],
  });
  if (order === "before") log.take(line);
  log.answered(answeredRequest(["request"]));
  if (order === "after") log.take(line);
  log.end();
  expect(written).toEqual([
    `${TEXT}; ios-store com.example.coins grants nothing: the catalog does not map it`,
  ]);
});
