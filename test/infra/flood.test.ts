import { BlockList, isIPv6 } from "node:net";
import { posix } from "node:path";
import { endpoints, type EndpointName } from "../../lib/contract/endpoints.ts";
import { synthesizeWith } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import { functionOf, only, stages, type Json, type Synthesis } from "./synthesis.ts";

interface Sent {
  readonly path: string;
  readonly address: string;
}

const TRANSFORMATIONS: Readonly<Record<string, (text: string) => string>> = {
  URL_DECODE: decodeURIComponent,
  NORMALIZE_PATH: posix.normalize,
};

const WINDOW_SECONDS = 300;

const isWithin = (blocks: readonly string[], address: string): boolean => {
  const list = new BlockList();
  for (const block of blocks) {
    const [net = "", bits] = block.split("/");
    list.addSubnet(net, Number(bits), isIPv6(net) ? "ipv6" : "ipv4");
  }
  return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
};

/**
 * Requests to a path that AWS WAF lets pass from one address in five minutes, by the rules of a synthesized stage;
 * Infinity: all. A statement that is not known here fails the test.
 */
const firewallOf =
  (stage: Pick<Synthesis, "resources">) =>
  (sent: Sent): number => {
    const matches = (statement: Json): boolean => {
      const [[kind, content] = ["", null]] = Object.entries<Json>(statement);
      switch (kind) {
        case "AndStatement":
          return content.Statements.every(matches);
        case "OrStatement":
          return content.Statements.some(matches);
        case "NotStatement":
          return !matches(content.Statement);
        case "IPSetReferenceStatement":
          return isWithin(stage.resources[content.Arn["Fn::GetAtt"][0]]?.Properties.Addresses, sent.address);
        case "ByteMatchStatement": {
          const seen = content.TextTransformations.reduce(
            (text: string, { Type }: Json) => TRANSFORMATIONS[Type]?.(text) ?? text,
            `/live${sent.path}`,
          );
          return seen.includes(content.SearchString);
        }
        default:
          throw new Error(`This evaluation does not know ${kind}.`);
      }
    };
    const { Rules } = only("AWS::WAFv2::WebACL", stage).Properties;
    return Math.min(
      ...Rules.map(({ Statement: { RateBasedStatement: rate, ...block } }: Json) => {
        if (rate === undefined) return matches(block) ? 0 : Infinity;
        return matches(rate.ScopeDownStatement) ? rate.Limit : Infinity;
      }),
    );
  };

const HOST = "203.0.113.9";
const APPLE = "17.58.1.2";
const BACKEND = "198.51.100.7";

const pathOf = (name: EndpointName): string => endpoints[name].path.replace(/\{\w+\}/, "somebody");
const NAMES = Object.keys(endpoints) as EndpointName[];
const KEYED = NAMES.filter((name) => endpoints[name].scope !== null);

/** The defaults: an account of unknown concurrency. */
const passing = firewallOf(stages.production);
/** An account of a known concurrency, and a backend that is named. */
const { document } = await synthesizeWith(FUNCTIONS_APP, {
  accountConcurrency: "1000",
  backendAddresses: `${BACKEND},2001:db8::/32`,
});
const knownAccount = { resources: document.Resources };
const passingKnown = firewallOf(knownAccount);
/** No limits: addresses that are blocked, and notifications from Apple alone. */
const passingGuarded = firewallOf(stages.guarded);

describe("what passes from one address in five minutes", () => {
  test.each(NAMES)("to %s is limited: nobody sends it without end", (name) => {
    expect(passing({ path: pathOf(name), address: HOST })).toBeLessThanOrEqual(10_000);
  });

  test("needs no route: what the gateway would refuse is counted too", () => {
    expect(passing({ path: "/v1/nothing", address: HOST })).toBe(10_000);
  });

  // test/infra/parameters.test.ts compares it with the rate of all addresses.
  test.each(["synchronizeIosStorePurchases", "receiveAndroidStoreNotification"] as const)(
    "is little on a route without a credential: %s",
    (name) => {
      const sent = { path: pathOf(name), address: HOST };
      expect([passing(sent), passingKnown(sent)]).toEqual([300, 1000]);
    },
  );

  test.each([
    "/v1/./notifications/android-store",
    "/v1//notifications/android-store",
    "/v1/x/../notifications/android-store",
    "/v1/notifications/%61ndroid-store/",
  ])("is the same however the path is written: %s", (path) => {
    expect(passing({ path, address: HOST })).toBe(300);
  });

  test("is nothing to the App Store's notifications, and everything from Apple", () => {
    const path = pathOf("receiveIosStoreNotification");
    expect(passing({ path, address: HOST })).toBe(0);
    expect(passing({ path, address: "2001:db8::1" })).toBe(0);
    expect(passing({ path, address: APPLE })).toBe(Infinity);
    expect(passing({ path: pathOf("synchronizeIosStorePurchases"), address: APPLE })).toBe(300);
  });

  test.each([...KEYED, "synchronizeIosStorePurchases"] as const)(
    "is everything from the backend's addresses, to %s",
    (name) => {
      for (const address of [BACKEND, "2001:db8:1::7"])
        expect(passingKnown({ path: pathOf(name), address })).toBe(Infinity);
    },
  );
});

test.each([
  ["203.0.113.9", 0, 0],
  ["198.51.100.7", 0, 0],
  ["2001:db8::1", 0, 0],
  ["198.51.100.8", Infinity, 0],
  [APPLE, Infinity, Infinity],
])("with blocked addresses and no limits, %s is refused or unlimited", (address, read, notified) => {
  const paths = (["readAccountEntitlements", "receiveIosStoreNotification"] as const).map(pathOf);
  expect(paths.map((path) => passingGuarded({ path, address }))).toEqual([read, notified]);
});

test("a host's unknown API keys take less than one execution", () => {
  /** Time of an execution of the authorizer, of which one host's 650 requests a second took all ten of a new account. */
  const EXECUTION_SECONDS = 0.016;
  const requests = passing({ path: pathOf("readAccountEntitlements"), address: HOST });
  expect((requests / WINDOW_SECONDS) * EXECUTION_SECONDS).toBeLessThan(1);
  const [, authorizer] = functionOf("AuthorizeCredential", knownAccount);
  expect(authorizer.Properties.ReservedConcurrentExecutions).toBe(100);
});
