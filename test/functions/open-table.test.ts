import { openTable } from "../../functions/environment/open-table.ts";

test("the client copies no request and no answer for a logger", () => {
  const { client } = openTable("table");
  const steps = client.middlewareStack.identify();
  expect(steps.filter((step) => step.includes("hostHeader"))).toHaveLength(1);
  expect(steps.filter((step) => step.includes("logger"))).toEqual([]);
});
