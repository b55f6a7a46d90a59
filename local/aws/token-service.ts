import { randomUUID } from "node:crypto";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";
import { readText } from "../server.ts";
import { ACCOUNT } from "../lambda/assembly.ts";

const XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/";

const callerIdentity = (): string =>
  `<GetCallerIdentityResponse xmlns="${XMLNS}"><GetCallerIdentityResult>` +
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
