import { HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Application } from "../../../lib/applications/application.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { modelApplication } from "../model/model-client.ts";
import { createCustomers, type Asked } from "./customers.ts";
import type { History } from "./histories.ts";
import { failingFetch, type Outage } from "./outages.ts";
import { createService } from "./service.ts";
import { openStores, type Stores } from "./stores.ts";
import { createTime } from "./time.ts";

export const LEEWAY = 15 * MINUTE;

const applicationWith = (stores: Stores): Application => {
  const application = modelApplication("0198c0de-0000-7000-8000-000000000001", { leeway: LEEWAY });
  const serverApi = { issuerIdentifier: "", keyIdentifier: "", secret: "" };
  const environments = ["production"] as const;
  return stores.withCredentials({
    ...application,
    iosStore: application.iosStore.map((bundle) => ({ ...bundle, environments, serverApi })),
    androidStore: application.androidStore.map((one) => ({ ...one, environments })),
  });
};

export type SideBySide = ReturnType<typeof standSideBySide>;

const standSideBySide = (stores: Stores, asked: Asked, outage: Outage | null) => {
  const application = applicationWith(stores);
  const told = createService(stores, application, stores.fetch);
  const untold = createService(
    stores,
    application,
    outage === null ? stores.fetch : failingFetch(outage, () => time.outage.isOn, stores.fetch),
  );
  const services = [told, untold];
  stores.receive = told.receive;
  const time = createTime(stores, services, outage === null ? null : NOW + outage.lasts);
  const { perform, linkToken } = createCustomers(stores, services, time, asked);
  return {
    stores,
    told,
    untold,
    linkToken,
    advance: time.advance,
    play: async (history: History): Promise<void> => {
      for (const { after, act } of history) {
        await time.advance(after);
        await perform(act);
      }
    },
    /** Works off both queues, at a moment at which nothing happens in the stores. */
    settle: async (): Promise<void> => {
      while (stores.nextEventAt() - stores.clock.now < 3 * HOUR)
        await time.advanceTo(stores.nextEventAt() + MINUTE);
      await time.advance(2 * HOUR);
      for (const service of services) {
        await service.sweepRefunds();
        // Apple counts all notifications as delivered, so its list brings nothing to either.
        await service.sweepNotifications();
      }
    },
  };
};

/**
 * Two services before the same stores: one gets every notification, the other none.
 *
 * @param outage of the second service's questions; null: the stores always answer
 */
export const sideBySide = async (
  asked: Asked,
  act: (both: SideBySide) => Promise<void>,
  outage: Outage | null = null,
): Promise<void> => {
  const stores = await openStores(NOW);
  try {
    await act(standSideBySide(stores, asked, outage));
  } finally {
    await stores.close();
  }
};
