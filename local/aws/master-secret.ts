import { randomBytes } from "node:crypto";
import type { DataFolder } from "../database/data-folder.ts";

const FILE = "master-secret";

/** The local service's master secret: the one in the data folder, or a new one. */
export const localMasterSecret = (folder: DataFolder): string => {
  const kept = folder.read(FILE)?.trim();
  if (kept) return kept;
  const made = randomBytes(48).toString("base64url");
  folder.write(FILE, `${made}\n`);
  return made;
};
