import type { ApplicationId } from "../identifiers.ts";
import type { Application, ApplicationDirectory } from "./application.ts";

/** The applications that exist. One that cannot be read is reported, and left out. */
export const findApplications = async (
  { byIdentifier }: Pick<ApplicationDirectory, "byIdentifier">,
  identifiers: readonly ApplicationId[],
  onFailure: (error: unknown) => void,
): Promise<readonly Application[]> => {
  const found = await Promise.all(
    identifiers.map(async (identifier) =>
      byIdentifier(identifier).catch((error: unknown) => {
        onFailure(error);
        return null;
      }),
    ),
  );
  return found.flatMap((application) => application ?? []);
};
