import fc from "fast-check";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { expectSameStateInAnyOrder, expectTrafficAsTheModel, orders } from "./any-order.ts";
import { LINKS_OF_GOOGLE, MOSTLY_NOTIFICATIONS, trafficOf } from "./traffic.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";

const SOME = { minLength: 1, maxLength: 14 };

describe("requests and notifications, on a table in memory", () => {
  test(
    "are answered as by the model, and replays write nothing",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(
            trafficOf(SOME, 1),
            trafficOf(SOME),
            trafficOf(SOME, 2, MOSTLY_NOTIFICATIONS),
            trafficOf(SOME, 1, LINKS_OF_GOOGLE),
          ),
          (traffic) => expectTrafficAsTheModel(createMemoryTable(), traffic),
        ),
        cases(110, 8_000),
      ),
    TIMEOUT,
  );

  test(
    "end in the same state in any order, some sent twice",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 2, maxLength: 14 }), orders, ({ requests }, order) =>
          expectSameStateInAnyOrder(createMemoryTable(), requests, order),
        ),
        cases(80, 8_000),
      ),
    TIMEOUT,
  );
});
