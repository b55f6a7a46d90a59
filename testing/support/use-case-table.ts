import { SLOW } from "./lanes.ts";
import { createMemoryTable } from "./memory-table.ts";
import { createTestTable, type TestTable } from "./table.ts";

/** The table of the use cases' tests: in memory, and in DynamoDB Local in the slow lane. */
export const createUseCaseTable = async (): Promise<TestTable> =>
  SLOW ? createTestTable() : createMemoryTable();
