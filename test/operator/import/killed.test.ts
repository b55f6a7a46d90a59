import { testKilledRuns } from "./killed.ts";

testKilledRuns(60, 1, 300_000);
