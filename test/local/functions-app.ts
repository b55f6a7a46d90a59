import { fileURLToPath } from "node:url";
import { createApp } from "../../infra/app.ts";

// The service's own stack, around functions that do what these tests tell them.
createApp({ functionsFolder: fileURLToPath(new URL("functions", import.meta.url)) }).synth();
