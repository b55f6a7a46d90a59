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

/** What AWS WAF lets pass by the rules of a synthesized stage. A statement that is not known here fails the test. */
class Firewall {
  readonly #stage: Pick<Synthesis, "resources">;

  constructor(stage: Pick<Synthesis, "resources">) {
    this.#stage = stage;
  }

  /** Requests to a path that pass from one address in five minutes; Infinity: all. */
  passing(sent: Sent): number {
    const { Rules } = only("AWS::WAFv2::WebACL", this.#stage).Properties;
    return Math.min(
      Infinity,
      ...Rules.map(({ Statement: { RateBasedStatement: rate, ...block } }: Json) => {
        if (rate !== undefined) return this.#matches(rate.ScopeDownStatement, sent) ? rate.Limit : Infinity;
        return this.#matches(block, sent) ? 0 : Infinity;
      }),
    );
  }

  #matches(statement: Json, sent: Sent): boolean {
    const [kind = ""] = Object.keys(statement);
    const content = statement[kind];
    switch (kind) {
      case "AndStatement":
        return content.Statements.every((one: Json) => this.#matches(one, sent));
      case "OrStatement":
        return content.Statements.some((one: Json) => this.#matches(one, sent));
      case "NotStatement":
        return !this.#matches(content.Statement, sent);
      case "IPSetReferenceStatement":
        return this.#has(content.Arn["Fn::GetAtt"][0], sent.address);
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
  }

  #has(set: string, address: string): boolean {
    const list = new BlockList();
    for (const block of this.#stage.resources[set]?.Properties.Addresses ?? []) {
      const [net = "", bits] = block.split("/");
      list.addSubnet(net, Number(bits), isIPv6(net) ? "ipv6" : "ipv4");
    }
    return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

const HOST = "203.0.113.9";
const APPLE = "17.58.1.2";
const BACKEND = "198.51.100.7";

const pathOf = (name: EndpointName): string => endpoints[name].path.replace(/\{\w+\}/, "somebody");
const NAMES = Object.keys(endpoints) as EndpointName[];
const KEYED = NAMES.filter((name) => endpoints[name].scope !== null);

/** The defaults: an account of unknown concurrency. */
const firewall = new Firewall(stages.production);
/** An account of a known concurrency, and a backend that is named. */
const { document } = await synthesizeWith(FUNCTIONS_APP, {
  accountConcurrency: "1000",
  backendAddresses: `${BACKEND},2001:db8::/32`,
});
const knownAccount = { resources: document.Resources };
const known = new Firewall(knownAccount);
/** No limits: addresses that are blocked, and notifications from Apple alone. */
const guarded = new Firewall(stages.guarded);

describe("what passes from one address in five minutes", () => {
  test.each(NAMES)("to %s is limited: nobody sends it without end", (name) => {
    expect(firewall.passing({ path: pathOf(name), address: HOST })).toBeLessThanOrEqual(10_000);
  });

  test("needs no route: what the gateway would refuse is counted too", () => {
    expect(firewall.passing({ path: "/v1/nothing", address: HOST })).toBe(10_000);
  });

  // test/infra/parameters.test.ts compares it with the rate of all addresses.
  test.each(["synchronizeIosStorePurchases", "receiveAndroidStoreNotification"] as const)(
    "is little on a route without a credential: %s",
    (name) => {
      const sent = { path: pathOf(name), address: HOST };
      expect([firewall.passing(sent), known.passing(sent)]).toEqual([300, 1000]);
    },
  );

  test.each([
    "/v1/./notifications/android-store",
    "/v1//notifications/android-store",
    "/v1/x/../notifications/android-store",
    "/v1/notifications/%61ndroid-store/",
  ])("is the same however the path is written: %s", (path) => {
    expect(firewall.passing({ path, address: HOST })).toBe(300);
  });

  test("is nothing to the App Store's notifications, and everything from Apple", () => {
    const path = pathOf("receiveIosStoreNotification");
    expect(firewall.passing({ path, address: HOST })).toBe(0);
    expect(firewall.passing({ path, address: "2001:db8::1" })).toBe(0);
    expect(firewall.passing({ path, address: APPLE })).toBe(Infinity);
    expect(firewall.passing({ path: pathOf("synchronizeIosStorePurchases"), address: APPLE })).toBe(300);
  });

  test.each([...KEYED, "synchronizeIosStorePurchases"] as const)(
    "is everything from the backend's addresses, to %s",
    (name) => {
      for (const address of [BACKEND, "2001:db8:1::7"])
        expect(known.passing({ path: pathOf(name), address })).toBe(Infinity);
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
  const passing = (name: EndpointName) => guarded.passing({ path: pathOf(name), address });
  expect([passing("readAccountEntitlements"), passing("receiveIosStoreNotification")]).toEqual([
    read,
    notified,
  ]);
});

test("a host's unknown API keys take less than one execution", () => {
  /** Time of an execution of the authorizer, of which one host's 650 requests a second took all ten of a new account. */
  const EXECUTION_SECONDS = 0.016;
  const passing = firewall.passing({ path: pathOf("readAccountEntitlements"), address: HOST });
  expect((passing / WINDOW_SECONDS) * EXECUTION_SECONDS).toBeLessThan(1);
  const [, authorizer] = functionOf("AuthorizeCredential", knownAccount);
  expect(authorizer.Properties.ReservedConcurrentExecutions).toBe(100);
});
