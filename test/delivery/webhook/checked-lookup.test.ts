import type { LookupOptions } from "node:dns";
import { createCheckedLookup, lookupName, type NameLookup } from "../../../lib/delivery/addresses.ts";

const PUBLIC = "8.8.8.8";
const PUBLIC_IPV6 = "2606:4700::1111";
const PRIVATE = "10.0.0.1";

/** The addresses that a connection gets, or the error. */
const given = async (lookup: NameLookup, options: LookupOptions = { all: true }): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  createCheckedLookup(lookup, false)("api.example.com", options, (error, address, family) =>
    resolve(error ?? (typeof address === "string" ? { address, family } : address)),
  );
  return promise;
};

const answering =
  (...addresses: readonly string[]): NameLookup =>
  async () =>
    addresses;

test("a connection is given exactly the addresses that were checked", async () => {
  expect(await given(answering(PUBLIC, PUBLIC_IPV6))).toEqual([
    { address: PUBLIC, family: 4 },
    { address: PUBLIC_IPV6, family: 6 },
  ]);
});

test("a connection that asks for one address is given the first", async () => {
  expect(await given(answering(PUBLIC_IPV6, PUBLIC), {})).toEqual({ address: PUBLIC_IPV6, family: 6 });
});

test.each([
  ["private", [PRIVATE]],
  ["public and private", [PUBLIC, PRIVATE]],
  ["no address", ["api.example.com"]],
])("a name that resolves to %s is refused", async (_name, addresses) => {
  expect(await given(answering(...addresses))).toMatchObject({ reason: "address" });
  expect(await given(answering(...addresses), {})).toMatchObject({ reason: "address" });
});

const throwing: NameLookup = () => {
  throw new TypeError("bad name");
};
test.each<[string, NameLookup]>([
  ["has no address", answering()],
  ["cannot be resolved", () => Promise.reject(new Error("SERVFAIL"))],
  ["cannot be looked up", throwing],
])("a name that %s is another failure", async (_name, lookup) => {
  expect(await given(lookup)).toMatchObject({ reason: "name", message: "The lookup failed: name." });
});

test("concurrent lookups of one name are shared; the next is another", async () => {
  const asked: PromiseWithResolvers<string[]>[] = [];
  const lookup = createCheckedLookup((name) => {
    if (name !== "api.example.com") return Promise.resolve([PUBLIC]);
    const answer = Promise.withResolvers<string[]>();
    asked.push(answer);
    return answer.promise;
  }, false);
  const ask = (name: string): Promise<unknown> =>
    new Promise((resolve) => void lookup(name, { all: true }, (error, found) => resolve(error ?? found)));

  const found = [{ address: PUBLIC, family: 4 }];
  const first = [ask("api.example.com"), ask("api.example.com")];
  expect(await ask("other.example.com")).toEqual(found);
  asked[0]?.resolve([PUBLIC]);
  expect(await Promise.all(first)).toEqual([found, found]);
  const second = ask("api.example.com");
  expect(await ask("other.example.com")).toEqual(found);
  asked[1]?.resolve([PRIVATE]);
  expect(await second).toMatchObject({ reason: "address" });
  expect(asked).toHaveLength(2);
});

test("the system's resolver is asked where no other is given", async () => {
  expect(await lookupName("localhost")).toContain("127.0.0.1");
});
