import { checkFiles } from "../import/check.ts";
import { compareFiles } from "../import/compare.ts";
import { runFiles } from "../import/run-command.ts";
import { eraseAccount, exportAccount, showAccount, unlinkAccount } from "./account.ts";
import { findApplicationOf, listApplications, showApplication } from "./application.ts";
import { applyApplication, reproject, retell } from "./apply.ts";
import { showAudit } from "./audit.ts";
import { issueApiKey, listCredentials, revokeCredential } from "./credential.ts";
import { eraseCustomer, findCustomer, showCustomer, unlinkCustomer } from "./customer.ts";
import { listDestinations, resend, resumeDestination, rotateDestination } from "./destination.ts";
import { refreshApplication, refreshCustomer } from "./refresh.ts";

export const GROUPS = {
  application: "applications: their stores, entitlements and products",
  credential: "API keys of an application",
  destination: "destinations of an application, which get its accounts' changes",
  account: "accounts of an application",
  customer: "customers of an application",
  import: "move purchases in from another service",
} as const;

export const COMMANDS = [
  [applyApplication, listApplications, showApplication, reproject, retell, refreshApplication],
  [findApplicationOf, showAudit],
  [issueApiKey, listCredentials, revokeCredential],
  [listDestinations, rotateDestination, resumeDestination, resend],
  [showAccount, exportAccount, unlinkAccount, eraseAccount],
  [showCustomer, refreshCustomer, findCustomer, unlinkCustomer, eraseCustomer],
  [checkFiles, runFiles, compareFiles],
].flat();
