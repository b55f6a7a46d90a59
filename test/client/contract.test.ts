import { readFileSync } from "node:fs";
import { contractSource } from "../../client/build.ts";
import type * as client from "../../client/source/contract.ts";
import { endpoints, GATEWAY_ERRORS } from "../../lib/contract/endpoints.ts";
import type * as contract from "../../lib/contract/schemas.ts";
import type { StoreRequest } from "../../lib/contract/messages.ts";

test("the client's types are those of docs/openapi.json (`npm run client` writes them)", async () => {
  expect(await contractSource()).toBe(readFileSync("client/source/contract.ts", "utf8"));
});

/** `true` where values of each type are values of the other; the client's lists are read-only. */
type Alike<Own, Other> = [Own, DeepReadonly<Other>] extends [DeepReadonly<Other>, Own] ? true : false;
type DeepReadonly<Value> = Value extends object
  ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
  : Value;

/** With all its optional members. */
type Present<Value> = { [Name in keyof Value]-?: Exclude<Value[Name], undefined> };

test("they are the types by which the service answers", () => {
  const alike: readonly [
    Alike<client.AccountEntitlements, contract.AccountEntitlements>,
    Alike<client.LinkResponse, contract.LinkResponse>,
    Alike<client.CustomerEntitlement, contract.CustomerEntitlement>,
    Alike<client.Status, contract.Status>,
    Alike<client.ChangesPage, contract.ChangesPage>,
    Alike<Present<client.StoreRequest>, Present<StoreRequest>>,
    Alike<client.AccountChange, contract.AccountChange>,
  ] = [true, true, true, true, true, true, true];
  expect(alike).not.toContain(false);
});

test("they have every error code of the client's endpoints", () => {
  const source = readFileSync("client/source/contract.ts", "utf8");
  const [, codes = ""] = /type ErrorCode =([^;]*);/.exec(source) ?? [];
  const { linkAndroidStoreCustomer, linkIosStoreCustomer, readAccountEntitlements, readChanges } = endpoints;
  const called = [linkAndroidStoreCustomer, linkIosStoreCustomer, readAccountEntitlements, readChanges];
  for (const { errors } of called)
    for (const code of [...errors, ...GATEWAY_ERRORS]) expect(codes).toContain(`"${code}"`);
});
