import { fileURLToPath } from "node:url";
import { createApp } from "../../infra/app.ts";

// The service's own stack with functions that the tests control.
createApp({ functionsFolder: fileURLToPath(new URL("functions", import.meta.url)) }).synth();
