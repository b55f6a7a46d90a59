import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { type SigningChain, makeXcodeSigner, signJws } from "../../sandbox/ios-store/signing.ts";
import { endpoint } from "../../functions/http/endpoint.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { synchronizeIosStorePurchases } from "../../lib/customers/ios-store-customers.ts";
import { apiGatewayEvent } from "../../testing/index.ts";
import { inTurn, ratio, withWorld, type Side } from "../measure.ts";
import {
  newDevice,
  renewals,
  signedRequest,
  type SignedRequest,
} from "../../testing/support/stores/signed-purchases.ts";

/** Requests built to cost as much as possible. Anybody can send them: nothing in them needs a key. */

/** A chain and a request that every buyer can have. */
interface Genuine {
  readonly chain: SigningChain;
  readonly request: SignedRequest;
}

const LARGEST_JWS = 32 * 1024;
const base64url = (value: string | Uint8Array): string => Buffer.from(value).toString("base64url");
const signature = (): string => base64url(randomBytes(64));

/** Repeats the text up to the number of characters. */
const fill = (text: string, characters: number): string =>
  text.repeat(Math.max(0, Math.floor(characters / text.length)));

const list = (count: number, item: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => item(index));

/** JSON bodies by shape, each filled to `size` characters. */
const jsonShapes = (size: number): readonly (readonly [shape: string, body: string])[] => {
  const member = (value: string): string => `{"x":${value}}`;
  const text = (piece: string): string => member(`"${fill(piece, size - 8)}"`);
  const half = Math.floor(size / 2);
  return [
    ["open brackets", fill("[", size)],
    ["nested lists", fill("[", half) + fill("]", half)],
    ["nested objects", `${fill('{"a":', (size * 5) / 6)}1${fill("}", size / 6)}`],
    ["a list of zeros", member(`[${fill("0,", size - 10)}0]`)],
    ["a list of lists", member(`[${fill("[],", size - 10)}0]`)],
    [
      "many members",
      `{${list(size / 12, (index) => `"${index.toString(36).padStart(6, "k")}":0`).join(",")}}`,
    ],
    ["one member many times", `{${fill('"a":0,', size - 8)}"a":0}`],
    ["one number", member(fill("7", size - 6))],
    ["one number with a fraction", member(`0.${fill("7", size - 8)}e-9`)],
    ["white space", `{${fill(" ", size - 8)}"x":1}`],
    ["escaped letters", text("\\u0041")],
    ["lone surrogates", text("\\ud800")],
    ["escaped quotes", text('\\"')],
    ["backslashes", text("\\\\")],
    ["brackets in a string", text("[")],
    ["an escaped name", `{"${fill("\\u0041", size - 8)}":1}`],
    ["letters of several scripts", text("aй😀")],
    ["a long account identifier", `{"applicationAccountIdentifier":"${fill("x", size - 36)}"}`],
    ["a long account identifier of emoji", `{"applicationAccountIdentifier":"${fill("😀", size - 36)}"}`],
    ["one large string", `"${fill("x", size - 2)}"`],
    [
      "long names",
      `{${list(size / 16_700, (index) => `"${fill("k", 16_600)}${String(index).padStart(6)}":0`).join(",")}}`,
    ],
    [
      "numbers as transactions",
      `{"signedTransactions":[${list(4_000, () => fill("7", size / 4_000 - 1)).join(",")}]}`,
    ],
  ];
};

/** Transactions that make the service refuse the request, by shape. The app transaction is valid. */
const jwsShapes = (
  size: number,
  { chain, request }: Genuine,
): readonly (readonly [shape: string, transactions: string[]])[] => {
  const room = size - request.signedAppTransaction.length;
  const genuine = request.signedTransactions;
  const [header = "", payload = ""] = genuine[0]?.split(".") ?? [];
  const [leaf = "", intermediate = "", root = ""] = chain.x5c;
  const headerOf = (x5c: unknown): string => base64url(JSON.stringify({ alg: "ES256", x5c }));
  const leafBytes = Buffer.from(leaf, "base64");
  /** The genuine leaf with the last bytes of its signature changed. */
  const forgedLeaf = (index: number): string => {
    const forged = Buffer.from(leafBytes);
    forged.writeUInt32BE(index + 1, forged.length - 4);
    return forged.toString("base64");
  };
  const of = (length: number, make: (index: number, length: number) => string): string[] =>
    list(Math.min(1_000, Math.floor(room / (length + 3))), (index) => make(index, length));
  const signed = (head: string, index: number, length: number): string => {
    const rest = length - head.length - 88;
    return `${head}.${base64url(fill("x", Math.floor((rest * 3) / 4) - 9) + String(index).padStart(9))}.${signature()}`;
  };
  const each = Math.floor(room / 1_000) - 3;
  const padded = (x5c: readonly string[], total: number): string[] => [
    ...x5c,
    fill("A", Math.max(0, total - x5c.join("").length)),
  ];
  const strangers = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const resigned = signJws({ of: "a stranger" }, { x5c: chain.x5c, privateKey: strangers });
  return [
    ["another signature", of(each, (index, length) => signed(header, index, length))],
    ["another signature, largest size", of(LARGEST_JWS, (index, length) => signed(header, index, length))],
    [
      "a forged leaf",
      of(each, (index) => `${headerOf([forgedLeaf(index), intermediate, root])}.${payload}.${signature()}`),
    ],
    [
      "a leaf as intermediate",
      of(each, (index) => `${headerOf([forgedLeaf(index), leaf, root])}.${payload}.${signature()}`),
    ],
    [
      "a fourth certificate",
      of(
        LARGEST_JWS,
        (index) => `${headerOf(padded([forgedLeaf(index), intermediate, root], 20_000))}.e30.${signature()}`,
      ),
    ],
    [
      "a header of brackets",
      of(LARGEST_JWS, (index) => `${base64url(fill("[", 23_000) + String(index))}.e30.${signature()}`),
    ],
    [
      "a header of members",
      of(
        LARGEST_JWS,
        (index) => `${base64url(`{${fill('"a":{},', 23_000)}"b":${index}}`)}.e30.${signature()}`,
      ),
    ],
    [
      "a payload of brackets",
      of(LARGEST_JWS, (index) => `${header}.${base64url(fill("[", 20_000) + String(index))}.${signature()}`),
    ],
    ["one bad transaction a thousand times", list(1_000, () => resigned)],
    ["a bad transaction after good ones", [...genuine.slice(0, -1), resigned]],
    [
      "not JWS, nearly identical",
      of(LARGEST_JWS, (index, length) => fill("x", length - 6) + String(index).padStart(6)),
    ],
    [
      "not JWS, longer than V8 hashes",
      of(16_400, (index, length) => fill("x", length - 6) + String(index).padStart(6)),
    ],
    ["dots", of(each, (_, length) => fill(".", length))],
  ];
};

/** All hostile bodies, as the gateway passes them on, each at most `longest` characters. */
export const hostileBodies = (longest: number, genuine: Genuine) => {
  // Leaves room for the JSON around the filling.
  const size = longest - 200;
  const { signedAppTransaction } = genuine.request;
  const xcode = makeXcodeSigner();
  const selfSigned = (payload: string): string =>
    JSON.stringify({ signedAppTransaction: signJws(payload, xcode), x: fill("x", size - LARGEST_JWS) });
  const plain = (shape: string, body: string) => ({ shape, body, isBase64Encoded: false });
  return [
    ...jsonShapes(size).map(([shape, body]) => plain(shape, body)),
    {
      shape: "bytes that are not UTF-8",
      body: Buffer.alloc((size * 3) / 4, 0xff).toString("base64"),
      isBase64Encoded: true,
    },
    ...jwsShapes(size, genuine).map(([shape, signedTransactions]) =>
      plain(shape, JSON.stringify({ signedAppTransaction, signedTransactions })),
    ),
    plain(
      "an app transaction of brackets",
      selfSigned(`{"bundleId":"a","x":${fill("[", 10_000)}${fill("]", 10_000)}}`),
    ),
  ];
};

const TRANSACTIONS = 1_000;
const ROUNDS = 5;
const MILLISECONDS = 50;

/** The gateway's event for a request without a credential. */
const eventOf = (body: string, isBase64Encoded: boolean): APIGatewayProxyEvent =>
  apiGatewayEvent("synchronizeIosStorePurchases", {}, null, { body, isBase64Encoded });

/**
 * CPU time (all threads) of hostile requests to synchronize, costliest first, and of an honest one of the same size:
 * synchronize, which anybody may call, from event to answer. The honest body is the largest that the contract
 * allows, and a replay: a request that stores something costs more.
 */
export const measureHostile = () =>
  withWorld(async (world) => {
    const handler = endpoint(endpoints.synchronizeIosStorePurchases, ({ request }) =>
      synchronizeIosStorePurchases(world.customers, request),
    );
    const write = process.stdout.write.bind(process.stdout);
    // Discards the functions' log.
    process.stdout.write = () => true;
    try {
      const request = signedRequest(newDevice(), renewals(TRANSACTIONS), world.chain);
      const honest = JSON.stringify(request);
      const send = async (body: string, isBase64Encoded = false): Promise<number> =>
        (await handler(eventOf(body, isBase64Encoded), { awsRequestId: "1" } as Context)).statusCode;
      if ((await send(honest)) !== 200) throw new Error("The honest request was refused.");

      const bodies = hostileBodies(honest.length, { chain: world.chain, request });
      const statuses = new Map<string, number>();
      const sides: Side[] = [
        { name: "honest", run: async () => Number((await send(honest)) === 200) },
        ...bodies.map(({ shape, body, isBase64Encoded }) => ({
          name: shape,
          run: async () => {
            statuses.set(shape, await send(body, isBase64Encoded));
            return 1;
          },
        })),
      ];
      const [first, ...others] = await inTurn(sides, { rounds: ROUNDS, milliseconds: MILLISECONDS });
      return {
        size: honest.length,
        transactions: TRANSACTIONS,
        honestMilliseconds: (first?.cpuMicroseconds ?? Number.NaN) / 1000,
        shapes: others
          .map(({ name, cpuMicroseconds, cpuRounds }) => ({
            shape: name,
            status: statuses.get(name) ?? 0,
            milliseconds: cpuMicroseconds / 1000,
            ratio: ratio(cpuRounds, first?.cpuRounds ?? []),
          }))
          .sort((a, b) => b.ratio - a.ratio),
      };
    } finally {
      process.stdout.write = write;
    }
  });
