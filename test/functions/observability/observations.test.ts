import type { Context } from "aws-lambda";
import { jest } from "@jest/globals";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { endpoint } from "../../../functions/http/endpoint.ts";
import { observer } from "../../../functions/observability/observe.ts";
import { apiGatewayEvent } from "../../../testing/index.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");

const written: Record<string, unknown>[] = [];
beforeEach(() => {
  written.length = 0;
  jest
    .spyOn(process.stdout, "write")
    .mockImplementation((line) => written.push(JSON.parse(String(line))) > 0);
});
afterEach(() => jest.restoreAllMocks());

const requestLines = () => written.filter(({ message }) => message === "request");

test("concurrent requests of one environment have observations of their own", async () => {
  const waiting: (() => void)[] = [];
  const handler = endpoint(
    endpoints.receiveAndroidStoreNotification,
    async ({ request: { message = {} } }) => {
      const purchases = (message.data ?? "").length;
      observer.factsResolved(APPLICATION, purchases);
      await new Promise<void>((resolve) => void waiting.push(resolve));
      observer.transactionsVerified(purchases);
      if (purchases === 4) observer.conflictRetried();
      return {};
    },
  );
  const sent = (data: string, awsRequestId: string) =>
    handler(apiGatewayEvent("receiveAndroidStoreNotification", { body: { message: { data } } }), {
      awsRequestId,
    } as Context);
  const answers = [sent("e30=", "first"), sent("e30=e30=", "second")];
  while (waiting.length < 2) await new Promise(setImmediate);
  // The one that began first ends last.
  for (const go of waiting.toReversed()) {
    go();
    await new Promise(setImmediate);
  }
  await Promise.all(answers);
  const [second, first] = requestLines();
  expect(first).toMatchObject({ invocation: "first", purchases: 4, transactions: 4, conflicts: 1 });
  expect(second).toMatchObject({ invocation: "second", purchases: 8, transactions: 8 });
  expect(second).not.toHaveProperty("conflicts");
});

test("an invocation that is no request keeps nothing for the next one", async () => {
  observer.transactionsVerified(99);
  const handler = endpoint(endpoints.receiveIosStoreNotification, async () => ({}));
  const event = apiGatewayEvent("receiveIosStoreNotification", { body: { signedPayload: "a" } });
  await handler(event, {} as Context);
  const [line] = requestLines();
  expect(line).toMatchObject({ outcome: "OK" });
  expect(line).not.toHaveProperty("transactions");
});
