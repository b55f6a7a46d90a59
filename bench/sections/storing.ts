import { v7 as uuid } from "uuid";
import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
} from "../../lib/customers/ios-store-customers.ts";
import { median, type MeteredWorld, costOf, summaryOf, withWorld } from "../measure.ts";
import {
  newDevice,
  renewals,
  separatePurchases,
  signedRequest,
} from "../../testing/support/stores/signed-purchases.ts";

const REPETITIONS: Readonly<Record<number, number>> = { 1: 25, 10: 15, 100: 9, 1000: 9 };
const SIZES = [1, 10, 100, 1000] as const;
const KINDS = { "separate purchases": separatePurchases, "renewals of one subscription": renewals } as const;

type Kind = keyof typeof KINDS;
type EndpointName = "synchronize" | "link";

/** A request of a new device, and its replay. */
const newRequest = (world: MeteredWorld, endpoint: EndpointName, kind: Kind, transactions: number) => {
  const request = {
    ...signedRequest(newDevice(), KINDS[kind](transactions), world.chain),
    applicationAccountIdentifier: uuid(),
  };
  return (): Promise<unknown> =>
    endpoint === "link"
      ? linkIosStoreCustomer(world.customers, world.application.identifier, request)
      : synchronizeIosStorePurchases(world.customers, request);
};

type Sample = Awaited<ReturnType<typeof costOf>>;

/** `restPart`: the service's own share of the total. */
const rowOf = <Labels extends object>(labels: Labels, samples: readonly Sample[]) => ({
  ...labels,
  ...summaryOf(samples),
  restPart: median(samples.map(({ milliseconds: { rest, total } }) => rest / total)),
});

const bySize = async (world: MeteredWorld) => {
  const rows = [];
  for (const kind of Object.keys(KINDS) as Kind[])
    for (const endpoint of ["synchronize", "link"] as const)
      for (const transactions of SIZES) {
        const first: Sample[] = [];
        const replayed: Sample[] = [];
        for (let time = 0; time < (REPETITIONS[transactions] ?? 1); time += 1) {
          const send = newRequest(world, endpoint, kind, transactions);
          first.push(await costOf(world, send));
          replayed.push(await costOf(world, send));
        }
        const labels = { endpoint, kind, transactions };
        rows.push(rowOf({ ...labels, state: "first" }, first));
        rows.push(rowOf({ ...labels, state: "replayed" }, replayed));
      }
  return rows;
};

/** Cost of storing, by the size of the request. */
export const measureStoring = () =>
  withWorld(async (world) => {
    // Warms up every kind of request, first and replayed: cold starts have their own section.
    for (let time = 0; time < 40; time += 1)
      for (const kind of Object.keys(KINDS) as Kind[])
        for (const endpoint of ["synchronize", "link"] as const) {
          const send = newRequest(world, endpoint, kind, 5);
          await send();
          await send();
        }
    return { bySize: await bySize(world) };
  });
