import { authorize, type Decision } from "../../lib/applications/authorize.ts";
import { createFindCredential } from "../../lib/table/applications/credentials.ts";
import type { ServiceConfiguration } from "./service.ts";

export const composeAuthorize = ({ table, now }: ServiceConfiguration) => {
  const find = createFindCredential(table);
  return (authorization: string | undefined): Promise<Decision> => authorize(authorization, now(), find);
};
