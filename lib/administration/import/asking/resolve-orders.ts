import type { AndroidStoreConfiguration } from "../../../applications/application.ts";
import type { AndroidOrder, AndroidOrders } from "../../../stores/android-store/orders.ts";

export const ORDERS_AT_ONCE = 100;

export interface ResolvedOrders {
  readonly found: ReadonlyMap<string, AndroidOrder>;
  /** Why the others were not resolved; null: all were. */
  readonly failed: "stopped" | "unanswered" | null;
}

const NONE: ResolvedOrders = { found: new Map(), failed: null };

const together = (a: ResolvedOrders, b: ResolvedOrders): ResolvedOrders => ({
  found: new Map([...a.found, ...b.found]),
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
    case "answered":
      return { ...NONE, found: new Map(answer.orders.map((order) => [order.orderIdentifier, order])) };
    case "credential-rejected":
      return { ...NONE, failed: "stopped" };
    case "unavailable":
      return { ...NONE, failed: "unanswered" };
    case "gone":
    case "rejected": {
      if (identifiers.length === 1) return NONE;
      const half = Math.ceil(identifiers.length / 2);
      const first = await resolveOrders(orders, configuration, identifiers.slice(0, half));
      return together(first, await resolveOrders(orders, configuration, identifiers.slice(half)));
    }
  }
};
