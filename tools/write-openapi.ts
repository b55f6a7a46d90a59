import { writeFileSync } from "node:fs";
import { format } from "prettier";
import { openApiDocument } from "../lib/contract/openapi.ts";

const target = new URL("../docs/openapi.json", import.meta.url);
writeFileSync(target, await format(JSON.stringify(openApiDocument()), { parser: "json", printWidth: 110 }));
