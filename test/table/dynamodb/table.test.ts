import { createTestTable } from "../../../testing/support/table/table.ts";

test("a new table is empty, and its requests are counted", async () => {
  const table = await createTestTable();
  table.sent.length = 0;
  expect(await table.items()).toEqual([]);
  expect(table.sent).toEqual([{ command: "ScanCommand" }]);
  await table.remove();
});
