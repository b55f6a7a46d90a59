import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { endpoint } from "../../functions/http/endpoint.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { synchronizeIosStorePurchases } from "../../lib/customers/ios-store-customers.ts";
import { apiGatewayEvent } from "../../testing/index.ts";
import { hostileBodies } from "../../testing/support/metered/hostile-bodies.ts";
import { inTurn, ratio, withWorld, type Side } from "../measure.ts";
import { newDevice, renewals, signedRequest } from "../../testing/support/metered/purchases.ts";

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
