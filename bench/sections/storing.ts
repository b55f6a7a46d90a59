import { v7 as uuid } from "uuid";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import { synchronizeIosStorePurchases } from "../../lib/customers/synchronize-ios-store-purchases.ts";
import { medians } from "../measure.ts";
import { median } from "../../testing/support/metered/measuring.ts";
import {
  newDevice,
  renewals,
  separatePurchases,
  signedRequest,
  type SignedRequest,
} from "../../testing/support/metered/purchases.ts";
import { createMeteredWorld, type MeteredWorld } from "../../testing/support/metered/world.ts";

const REPETITIONS: Readonly<Record<number, number>> = { 1: 25, 10: 15, 100: 9, 1000: 9 };
const SIZES = [1, 10, 100, 1000] as const;

interface Call {
  readonly endpoint: "synchronize" | "link";
  readonly request: SignedRequest;
  readonly account: string;
}

const send = (world: MeteredWorld, { endpoint, request, account }: Call): Promise<unknown> => {
  const body = { ...request, applicationAccountIdentifier: account };
  return endpoint === "link"
    ? linkIosStoreCustomer(world.customers, world.application.identifier, body)
    : synchronizeIosStorePurchases(world.customers, body);
};

type Sample = Awaited<ReturnType<typeof measure>>;

/** In milliseconds, verification, DynamoDB's client and the rest add up to the total; `waiting` is for DynamoDB's responses. */
const measure = async (world: MeteredWorld, call: Call) => {
  world.meter.take();
  world.verifying.take();
  const start = performance.now();
  await send(world, call);
  const total = performance.now() - start;
  const { milliseconds, ...consumption } = world.meter.take();
  const verification = world.verifying.take();
  const rest = total - verification - milliseconds.client;
  return {
    ...consumption,
    milliseconds: {
      total,
      verification,
      dynamoDb: milliseconds.client,
      waiting: milliseconds.waiting,
      rest,
    },
    restPart: rest / total,
  };
};

/** Summarizes samples: requests of the first, medians of everything else. */
const rowOf = <Labels extends object>(labels: Labels, samples: readonly Sample[]) => {
  const [first] = samples;
  if (first === undefined) throw new Error("Nothing was measured.");
  return {
    ...labels,
    times: samples.length,
    requests: first.requests,
    readUnits: median(samples.map(({ readUnits }) => readUnits)),
    writeUnits: median(samples.map(({ writeUnits }) => writeUnits)),
    milliseconds: medians(samples.map(({ milliseconds }) => milliseconds)),
    restPart: median(samples.map(({ restPart }) => restPart)),
  };
};

const KINDS = { "separate purchases": separatePurchases, "renewals of one subscription": renewals } as const;

const bySize = async (world: MeteredWorld) => {
  const rows = [];
  for (const [kind, transactionsOf] of Object.entries(KINDS))
    for (const endpoint of ["synchronize", "link"] as const)
      for (const transactions of SIZES) {
        const first: Sample[] = [];
        const replayed: Sample[] = [];
        for (let time = 0; time < (REPETITIONS[transactions] ?? 1); time += 1) {
          const request = signedRequest(newDevice(), transactionsOf(transactions), world.chain);
          const call = { endpoint, request, account: uuid() };
          first.push(await measure(world, call));
          replayed.push(await measure(world, call));
        }
        const labels = { endpoint, kind, transactions };
        rows.push(rowOf({ ...labels, state: "first" }, first));
        rows.push(rowOf({ ...labels, state: "replayed" }, replayed));
      }
  return rows;
};

/** Cost of storing, by the size of the request. */
export const measureStoring = async () => {
  const world = await createMeteredWorld();
  try {
    // Warms up every kind of request, first and replayed: cold starts have their own section.
    for (let time = 0; time < 40; time += 1)
      for (const transactionsOf of Object.values(KINDS)) {
        const request = signedRequest(newDevice(), transactionsOf(5), world.chain);
        for (const endpoint of ["synchronize", "link", "synchronize", "link"] as const)
          await measure(world, { endpoint, request, account: request.signedAppTransaction.slice(-40) });
      }
    return { bySize: await bySize(world) };
  } finally {
    await world.remove();
  }
};
