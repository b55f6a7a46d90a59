import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as z from "zod";
import type { Mount } from "../../sandbox/mount.ts";
import { found } from "../../sandbox/routes.ts";
import { ACCOUNT } from "../lambda/assembly.ts";
import { LocalError } from "../local-error.ts";
import { createJsonService, refused } from "./json-service.ts";

const secretRequest = z.object({ SecretId: z.string() });

/** Files of a folder by secret's name: the path in the folder, with slashes. Links are left out. */
const secretFiles = (folder: string): Map<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = join(entry.parentPath, entry.name);
        return [relative(folder, file).replaceAll(sep, "/"), file];
      }),
  );

/**
 * A local Secrets Manager: `GetSecretValue` of the sandbox's secrets and of a folder's files, which take their place.
 *
 * @param mayReadFiles whether the owner of an access key may read files: they may hold real keys
 * @throws LocalError if there is no such folder
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
export const createSecretsManager = (
  folder: string | null,
  region: string,
  ofSandbox: (name: string) => string | undefined = () => undefined,
  mayReadFiles: (accessKey: string) => boolean = () => true,
): Mount => {
  if (folder !== null && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new LocalError(
      `There is no folder ${folder}; name the folder of the secrets with --secrets <folder>.`,
    );

  return createJsonService("secretsmanager", {
    GetSecretValue: (body, accessKey) => {
      const wanted = secretRequest.safeParse(body);
      if (!wanted.success) return refused("ValidationException", z.prettifyError(wanted.error));
      const name = wanted.data.SecretId;
      const file = folder === null ? undefined : secretFiles(folder).get(name);
      if (file !== undefined && !mayReadFiles(accessKey))
        return refused("AccessDeniedException", "Only the service's functions read this secret.");
      const secret = file === undefined ? ofSandbox(name) : readFileSync(file, "utf8");
      if (secret === undefined)
        return refused("ResourceNotFoundException", "Secrets Manager can't find the specified secret.");
      return found({
        ARN: `arn:aws:secretsmanager:${region}:${ACCOUNT}:secret:${name}-local0`,
        Name: name,
        SecretString: secret,
        VersionStages: ["AWSCURRENT"],
      });
    },
  });
};
