import type { Timeline } from "../clock.ts";
import { UnknownPurchase } from "../impossible-change.ts";
import { signNotification, testNotification, type NotifiedApp } from "./notifications/notifications.ts";
import type { Pushes } from "./notifications/pushes.ts";
import { newIdentifier } from "./shop/app-store.ts";
import type { IosChange } from "./shop/change.ts";
import { personsPurchases } from "./shop/payloads.ts";
import type { Bought } from "./shop/purchase.ts";
import type { Shop } from "./shop/shop.ts";
import type { JwsSigner } from "./signing.ts";

/** For purchases that name no bundle or no Apple ID. */
export interface DefaultApp {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
}

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

export type Counter = ReturnType<typeof createCounter>;

/** Sells, changes and shows purchases: each once everything due has happened, and answered once its notifications were. */
export const createCounter = ({
  shop,
  pushes,
  timeline: { inTurn },
  signer,
  defaults,
}: {
  readonly shop: Shop;
  readonly pushes: Pick<Pushes, "publish">;
  readonly timeline: Pick<Timeline, "inTurn">;
  readonly signer: JwsSigner;
  readonly defaults: DefaultApp;
}) => {
  const presented = (key: string, at: number) =>
    personsPurchases(shop.account(key), shop.lineagesOf(key), at, signer);
  const appOf = ({
    environment,
    ...named
  }: NotifiedApp & { readonly environment: "production" | "sandbox" }) => ({
    bundleIdentifier: named.bundleIdentifier ?? defaults.bundleIdentifier,
    appAppleIdentifier: named.appAppleIdentifier ?? defaults.appAppleIdentifier,
    environment: ENVIRONMENTS[environment],
  });

  return {
    buy: async ({ applicationAccountIdentifier, transactions, ...customer }: Bought) =>
      inTurn((at) => {
        const app = appOf(customer);
        const { appTransactionIdentifier = newIdentifier(app.environment) } = customer;
        const account = {
          ...app,
          appTransactionIdentifier,
          ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
        };
        const lineages = shop.sell(account, transactions, at);
        return () => personsPurchases(account, lineages, at, signer);
      }),
    /** @throws ImpossibleChange */
    change: async (originalTransactionIdentifier: string, change: IosChange) =>
      inTurn((at) => {
        const key = shop.change(originalTransactionIdentifier, change, at);
        return () => presented(key, at);
      }),
    /** @throws UnknownPurchase */
    read: async (originalTransactionIdentifier: string) =>
      inTurn((at) => () => {
        const lineage = shop.lineage(originalTransactionIdentifier);
        if (lineage === undefined) throw new UnknownPurchase();
        return presented(lineage.account, at);
      }),
    readAll: async () => inTurn((at) => () => shop.accounts().map((key) => presented(key, at))),
    /** Sends a test notification; unset: of the default app, in the sandbox environment. */
    notify: async ({ environment = "sandbox", ...named }: NotifiedApp = {}) =>
      inTurn((at) => {
        const app = appOf({ environment, ...named });
        const signedPayload = signNotification(testNotification(app, at), signer);
        pushes.publish({ signedPayload, environment: app.environment, failures: 0, dueAt: at });
        return () => undefined;
      }),
  };
};
