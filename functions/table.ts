import { openTable } from "../lib/service.ts";
import { awsSettings } from "./aws-settings.ts";
import { requiredVariable } from "./configuration.ts";

/** The service's one table. */
export const table = openTable(requiredVariable("TABLE_NAME"), awsSettings("DYNAMODB"));
