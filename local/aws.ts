import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as z from "zod/mini";
import { parseJson } from "../lib/bounded-text.ts";
import { answer, found, pathOf, type Answer, type Mount } from "../sandbox/routes.ts";
import { ACCOUNT } from "./lambda/assembly.ts";
import { LocalError, readText } from "./server.ts";

const refused = (__type: string, Message: string): Answer => ({ status: 400, body: { __type, Message } });

/**
 * One operation of an AWS service, on the path of AWS's own: it takes JSON, and `X-Amz-Target: <service>.<operation>`.
 *
 * @param act gets the access key of the request's signature; empty: it is not signed
 */
export const createJsonService = <Schema extends z.ZodMiniType>(
  [service, operation]: readonly [service: string, operation: string],
  schema: Schema,
  act: (request: z.output<Schema>, accessKey: string) => Answer,
): Mount => {
  const answerTo = (body: unknown, accessKey: string): Answer => {
    const parsed = schema.safeParse(body);
    return parsed.success
      ? act(parsed.data, accessKey)
      : refused("ValidationException", z.prettifyError(parsed.error));
  };
  return async (request, response) => {
    const [asked, wanted = ""] = String(request.headers["x-amz-target"]).split(".", 2);
    if (request.method !== "POST" || pathOf(request) !== "/" || asked !== service) return false;
    const body = parseJson(await readText(request));
    const accessKey = /Credential=([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const result =
      wanted === operation ? answerTo(body, accessKey) : refused("UnknownOperationException", wanted);
    answer(response, result.status, "application/x-amz-json-1.1", JSON.stringify(result.body));
    return true;
  };
};

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
  return createJsonService(
    ["secretsmanager", "GetSecretValue"],
    z.object({ SecretId: z.string() }),
    ({ SecretId: name }, accessKey) => {
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
  );
};

const callerIdentity = (): string =>
  `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>` +
  `<Arn>arn:aws:iam::${ACCOUNT}:user/local</Arn><UserId>local</UserId><Account>${ACCOUNT}</Account>` +
  `</GetCallerIdentityResult><ResponseMetadata><RequestId>${randomUUID()}</RequestId></ResponseMetadata>` +
  `</GetCallerIdentityResponse>`;

/**
 * A local Security Token Service, on the path of AWS's own: `GetCallerIdentity`. The caller is `local`.
 *
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
 */
export const createTokenService = (): Mount => async (request, response) => {
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  if (request.method !== "POST" || pathOf(request) !== "/" || !isForm) return false;
  const action = new URLSearchParams((await readText(request)) ?? "").get("Action");
  if (action === "GetCallerIdentity") answer(response, 200, "text/xml", callerIdentity());
  else answer(response, 400, "text/plain", "Only GetCallerIdentity is answered here.\n");
  return true;
};
