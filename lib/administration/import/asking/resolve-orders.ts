import type { AndroidStoreConfiguration } from "../../../applications/application.ts";
import type { AndroidOrder, AndroidOrders } from "../../../stores/android-store/orders.ts";

/** Order ids in one request. */
export const ORDERS_AT_ONCE = 100;

/** Result for each order id. */
export interface ResolvedOrders {
  readonly found: ReadonlyMap<string, AndroidOrder>;
  /** Google does not know them. */
  readonly unknown: ReadonlySet<string>;
  /** Why the others were not resolved; null: all were. */
  readonly failed: "stopped" | "unanswered" | null;
}

const NONE: ResolvedOrders = { found: new Map(), unknown: new Set(), failed: null };

const together = (a: ResolvedOrders, b: ResolvedOrders): ResolvedOrders => ({
  found: new Map([...a.found, ...b.found]),
  unknown: new Set([...a.unknown, ...b.unknown]),
  failed: a.failed ?? b.failed,
});

/** Finds the purchases of orders. One unknown order fails a whole request, so such a request is halved. */
export const resolveOrders = async (
  orders: AndroidOrders,
  configuration: AndroidStoreConfiguration,
  identifiers: readonly string[],
): Promise<ResolvedOrders> => {
  if (identifiers.length === 0) return NONE;
  const answer = await orders.find(configuration, identifiers);
  switch (answer.outcome) {
    case "answered": {
      const found = new Map(answer.orders.map((order) => [order.orderIdentifier, order]));
      return { ...NONE, found, unknown: new Set(identifiers.filter((one) => !found.has(one))) };
    }
    case "credential-rejected":
      return { ...NONE, failed: "stopped" };
    case "unavailable":
      return { ...NONE, failed: "unanswered" };
    case "gone":
    case "rejected": {
      if (identifiers.length === 1) return { ...NONE, unknown: new Set(identifiers) };
      const half = Math.ceil(identifiers.length / 2);
      const first = await resolveOrders(orders, configuration, identifiers.slice(0, half));
      return together(first, await resolveOrders(orders, configuration, identifiers.slice(half)));
    }
  }
};
