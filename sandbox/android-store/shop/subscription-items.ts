import { isoTime } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { endOf, orderId, type SubscriptionLine } from "./purchases.ts";
import {
  currentLinesOf,
  endsWithPeriod,
  linesOf,
  requireState,
  tell,
  termsOfRenewing,
  withLines,
  type SubscriptionStep,
} from "./subscription-states.ts";

/** Adds an add-on at once, or removes one at the end of the period. */
export const changeItems: SubscriptionStep = (sold, { adds, removes }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const current = currentLinesOf(sold);
  const running = current.filter((line) => !endsWithPeriod(line));
  const end = endOf(sold.answer);
  if (adds === undefined && removes === undefined)
    throw new ImpossibleChange("Name an item that is added (adds) or removed (removes).");
  if (current.some(({ productId }) => productId === adds))
    throw new ImpossibleChange("The subscription has that item.");
  if (removes !== undefined && !running.some(({ productId }) => productId === removes))
    throw new ImpossibleChange("The subscription has no such item.");
  if (removes !== undefined && adds === undefined && running.length === 1)
    throw new ImpossibleChange("The last item cannot be removed: cancel the subscription.");
  const marked = withLines(sold, (line) =>
    line.productId === removes && !endsWithPeriod(line)
      ? {
          ...line,
          autoRenewingPlan: { ...line.autoRenewingPlan, autoRenewEnabled: false },
          deferredItemRemoval: {},
        }
      : line,
  );
  const added: SubscriptionLine[] =
    adds === undefined || end === null
      ? []
      : [
          {
            productId: adds,
            expiryTime: isoTime(end),
            latestSuccessfulOrderId: orderId(),
            autoRenewingPlan: { autoRenewEnabled: true },
          },
        ];
  // An item that was removed and is over returns in its own place.
  const others = linesOf(marked).filter(({ productId }) => productId !== adds);
  return tell({ ...marked, answer: { ...marked.answer, lineItems: [...others, ...added] } }, "ITEMS_CHANGED");
};
