import { Refused, type Answer } from "../routes.ts";

export const googleError = (status: number, reason: string, message: string, location?: string): Answer => {
  const parameter = location === undefined ? {} : { location, locationType: "parameter" };
  const errors = [{ message, domain: "androidpublisher", reason, ...parameter }];
  return { status, body: { error: { code: status, message, errors } } };
};

export const googleRefusal = (...error: Parameters<typeof googleError>): Refused =>
  new Refused(googleError(...error));
