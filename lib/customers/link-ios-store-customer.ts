import type { IosStoreLinkRequest, LinkResponse } from "../contract/schemas.ts";
import type { ApplicationId } from "../identifiers.ts";
import { applicationOfCredential } from "./application-of.ts";
import { storeIosStoreRequest, type IosStoreCustomers } from "./ios-store-request.ts";
import { presentLink } from "./customer-answers.ts";

/**
 * The credential names the application.
 *
 * @throws ServiceError the errors of the endpoint
 */
export const linkIosStoreCustomer = async (
  customers: IosStoreCustomers,
  identifier: ApplicationId,
  request: IosStoreLinkRequest,
): Promise<LinkResponse> => {
  const { application, customer } = await storeIosStoreRequest(customers, request, "credential", () =>
    applicationOfCredential(customers.directory, identifier),
  );
  return presentLink(application, customer, customers.now());
};
