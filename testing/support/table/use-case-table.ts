import { assertInvariants } from "./invariants.ts";
import { SLOW } from "../proof.ts";
import { createMemoryTable } from "./memory-table.ts";
import { createTestTable, type TestTable } from "./table.ts";

/** The table of the use cases' tests: in memory, and in DynamoDB Local in the slow lane. */
export const createUseCaseTable = async (): Promise<TestTable> =>
  SLOW ? createTestTable() : createMemoryTable();

/** The use cases' table of one test file; its invariants are asserted after the last test. */
export const aUseCaseTable = async (): Promise<TestTable> => {
  const table = await createUseCaseTable();
  afterAll(async () => {
    await assertInvariants(table);
    await table.remove();
  });
  return table;
};
