import fc from "fast-check";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { expectSameStateInAnyOrder, expectTrafficAsTheModel, orders } from "./any-order.ts";
import { trafficOf } from "./histories.ts";

describe("requests and notifications, on DynamoDB", () => {
  let table: TestTable;
  beforeEach(async () => {
    table = await createTestTable();
  });
  afterEach(() => table.remove());

  test(
    "are answered as by the model, and replays write nothing",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 4, maxLength: 14 }), (traffic) =>
          expectTrafficAsTheModel(table, traffic, "some moments"),
        ),
        cases(5, 400),
      ),
    TIMEOUT,
  );

  test(
    "end in the same state in any order, some sent twice",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 4, maxLength: 14 }), orders, ({ requests }, order) =>
          expectSameStateInAnyOrder(table, requests, order),
        ),
        cases(5, 400),
      ),
    TIMEOUT,
  );
});
