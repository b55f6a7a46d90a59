import { BlockList, isIPv6 } from "node:net";
import { posix } from "node:path";
import { endpoints, type Endpoint, type EndpointName } from "../../lib/contract/endpoints.ts";
import type { Assembly } from "../../local/lambda/template.ts";
import { assemblyOf, synthesizeWith } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import type { Json } from "./synthesis.ts";

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
  readonly #resources: Json;

  constructor({ document }: Assembly) {
    this.#resources = document.Resources;
  }

  #ofType(type: string): [id: string, properties: Json][] {
    return Object.entries<Json>(this.#resources)
      .filter(([, { Type }]) => Type === type)
      .map(([id, { Properties }]) => [id, Properties]);
  }

  /** Requests to a path that pass from one address in five minutes; Infinity: all. */
  passing(sent: Sent): number {
    const rules = this.#ofType("AWS::WAFv2::WebACL").flatMap(([, { Rules }]) => Rules);
    return Math.min(
      Infinity,
      ...rules.map(({ Statement: { RateBasedStatement: rate, ...block } }: Json) => {
        if (rate !== undefined) return this.#matches(rate.ScopeDownStatement, sent) ? rate.Limit : Infinity;
        return this.#matches(block, sent) ? 0 : Infinity;
      }),
    );
  }

  /** Requests a second to an endpoint that the gateway takes from all addresses together. */
  rateOf({ method, path }: Endpoint): number {
    const settings = this.#ofType("AWS::ApiGateway::Stage").flatMap(
      ([, { MethodSettings }]) => MethodSettings,
    );
    const found = settings.find(
      ({ HttpMethod, ResourcePath }) =>
        HttpMethod === method && ResourcePath.slice(1).replaceAll("~1", "/") === path,
    );
    return found.ThrottlingRateLimit;
  }

  reservedFor(name: string): number | undefined {
    return this.#ofType("AWS::Lambda::Function").find(([id]) => id.startsWith(name))?.[1]
      .ReservedConcurrentExecutions;
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
    for (const block of this.#resources[set].Properties.Addresses) {
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
let firewall: Firewall;
/** An account of a known concurrency, and a backend that is named. */
let known: Firewall;
/** No limits: addresses that are blocked, and notifications from Apple alone. */
let guarded: Firewall;

beforeAll(async () => {
  firewall = new Firewall(await assemblyOf(FUNCTIONS_APP));
  known = new Firewall(
    await synthesizeWith(FUNCTIONS_APP, {
      accountConcurrency: "1000",
      backendAddresses: `${BACKEND},2001:db8::/32`,
    }),
  );
  guarded = new Firewall(
    await synthesizeWith(FUNCTIONS_APP, {
      requestsPerAddress: "none",
      synchronizesPerAddress: "none",
      blockedAddresses: "203.0.113.0/24, 198.51.100.7 2001:db8::/32",
    }),
  );
}, 120_000);

describe("what passes from one address in five minutes", () => {
  test.each(NAMES)("to %s is limited: nobody sends it without end", (name) => {
    expect(firewall.passing({ path: pathOf(name), address: HOST })).toBeLessThanOrEqual(10_000);
  });

  test("needs no route: what the gateway would refuse is counted too", () => {
    expect(firewall.passing({ path: "/v1/nothing", address: HOST })).toBe(10_000);
  });

  test("is at most a tenth of the rate on routes without a credential", () => {
    expect(firewall.passing({ path: pathOf("synchronizeIosStorePurchases"), address: HOST })).toBe(300);
    expect(firewall.passing({ path: pathOf("receiveAndroidStoreNotification"), address: HOST })).toBe(300);
    expect(known.passing({ path: pathOf("synchronizeIosStorePurchases"), address: HOST })).toBe(1000);
    for (const name of ["synchronizeIosStorePurchases", "receiveAndroidStoreNotification"] as const)
      for (const stage of [firewall, known]) {
        const passing = stage.passing({ path: pathOf(name), address: HOST }) / WINDOW_SECONDS;
        expect(passing).toBeLessThanOrEqual(stage.rateOf(endpoints[name]) / 10);
      }
  });

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
  expect(known.reservedFor("AuthorizeCredential")).toBe(100);
});
