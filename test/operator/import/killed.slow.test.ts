import { testKilledRuns } from "./killed.ts";

testKilledRuns(2000, 20, 1_800_000);
