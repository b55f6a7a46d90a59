import { aChange, aRefusal, failureOf, withStub, type StubAnswer } from "./stub-service.ts";

const given = withStub();
const { aClient } = given;

describe("an iOS link", () => {
  const body = { customerIdentifier: null, applicationIdentifier: "a", entitlements: [] };
  const linked = { status: 200, body };
  const names = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const bodies = () =>
    given.service.requests.map(({ body }) => ({ signedRenewalInfos: [], ...JSON.parse(body) }));
  const request = { signedAppTransaction: "app", applicationAccountIdentifier: "user-1" };

  test("of many transactions is several requests, each within the limits", async () => {
    given.service.answer(linked);
    const signedTransactions = names("t", 1234);
    const signedRenewalInfos = names("r", 250);
    await aClient().linkIosStoreCustomer({ ...request, signedTransactions, signedRenewalInfos });
    const sent = bodies().map((body) => ({ signedTransactions: [], ...body }));
    expect(sent.flatMap((body) => body.signedTransactions)).toEqual(signedTransactions);
    expect(sent.flatMap((body) => body.signedRenewalInfos)).toEqual(signedRenewalInfos);
    for (const body of sent) expect(body).toMatchObject(request);
    // A renewal info of a purchase that is not known yet would be ignored.
    expect(sent.map((body) => [body.signedTransactions.length, body.signedRenewalInfos.length])).toEqual([
      [500, 0],
      [500, 0],
      [234, 100],
      [0, 100],
      [0, 50],
    ]);
  });

  describe("that is refused", () => {
    const large = { ...request, signedTransactions: names("t", 1001), signedRenewalInfos: ["r"] };
    const routes = () => given.service.requests.map(({ url }) => url.split("/").at(-1));

    test.each(["CUSTOMER_ALREADY_LINKED", "IDENTITY_CONFLICT"])(
      "with %s sends the rest without the account, then rejects",
      async (code) => {
        given.service.answer(aRefusal(409, code), aRefusal(409, "IDENTITY_CONFLICT"), linked);
        expect(await failureOf(aClient().linkIosStoreCustomer(large))).toMatchObject({ code, status: 409 });
        expect(routes()).toEqual(["link", "synchronize", "synchronize"]);
        const sent = bodies().map((body) => [
          body.applicationAccountIdentifier,
          body.signedTransactions.length,
          body.signedRenewalInfos.length,
        ]);
        expect(sent).toEqual([
          ["user-1", 500, 0],
          [null, 500, 0],
          [null, 1, 1],
        ]);
      },
    );
    test("sends the rest past what cannot succeed, and rejects with the refusal", async () => {
      given.service.answer(
        aRefusal(409, "CUSTOMER_ALREADY_LINKED"),
        aRefusal(404, "CUSTOMER_NOT_FOUND"),
        aRefusal(400, "INVALID_TRANSACTION"),
      );
      expect((await failureOf(aClient().linkIosStoreCustomer(large))).code).toBe("CUSTOMER_ALREADY_LINKED");
      expect(routes()).toEqual(["link", "synchronize", "synchronize"]);
    });
    test.each<[string, StubAnswer, number]>([
      ["TOO_MANY_REQUESTS", aRefusal(429, "TOO_MANY_REQUESTS", { "Retry-After": "300" }), 2],
      ["INTERNAL_ERROR", aRefusal(503, "INTERNAL_ERROR"), 5],
      ["UNREACHABLE", (_, response) => void response.destroy(), 5],
    ])("rejects with %s, which is temporary, and stops there", async (code, failure, requests) => {
      given.service.answer(aRefusal(409, "CUSTOMER_ALREADY_LINKED"), failure);
      const error = await failureOf(aClient().linkIosStoreCustomer(large));
      expect(error).toMatchObject({ code, isTemporary: true });
      expect(given.service.requests).toHaveLength(requests);
    });
  });
});

describe("the feed of changes", () => {
  const timestamp = "2026-06-15T12:00:00.000Z";
  const aPage = (next: string | null, ...cursors: string[]) => ({
    status: 200,
    body: { changes: cursors.map((cursor) => ({ ...aChange(), timestamp, cursor })), next },
  });

  test("is read from a cursor on", async () => {
    given.service.answer(aPage("c2", "c1", "c2"));
    const page = await aClient().readChanges({ after: "c/0", limit: 2 });
    expect([page.changes.map(({ cursor }) => cursor), page.next]).toEqual([["c1", "c2"], "c2"]);
    expect(given.service.requests[0]?.url).toBe("/v1/changes?after=c%2F0&limit=2");
  });
  test("is followed page by page, and polled when nothing is new", async () => {
    given.service.answer(aPage("c2", "c1", "c2"), aPage("c2"), aPage("c3", "c3"));
    const seen: string[] = [];
    for await (const { cursor } of aClient().followChanges({ interval: 4_000 })) {
      seen.push(cursor);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(["c1", "c2", "c3"]);
    expect(given.clock.waits).toEqual([4_000]);
    expect(given.service.requests.map(({ url }) => url)).toEqual([
      "/v1/changes",
      "/v1/changes?after=c2",
      "/v1/changes?after=c2",
    ]);
  });
  test("ends with the caller's signal", async () => {
    given.service.answer(aPage("c2", "c1", "c2"));
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const { cursor } of aClient().followChanges({ signal: controller.signal })) {
      seen.push(cursor);
      controller.abort();
    }
    expect(seen).toEqual(["c1"]);
  });
  test("rejects with CURSOR_EXPIRED", async () => {
    given.service.answer(aRefusal(400, "CURSOR_EXPIRED"));
    const next = aClient().followChanges({ after: "old" }).next();
    expect(await failureOf(next)).toMatchObject({ code: "CURSOR_EXPIRED" });
  });
});
