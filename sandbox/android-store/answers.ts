import type { Answer } from "../routes.ts";

/** Responses in the shapes of Google's APIs. */

export const googleError = (status: number, reason: string, message: string, location?: string): Answer => ({
  status,
  body: {
    error: {
      code: status,
      message,
      errors: [
        {
          message,
          domain: "androidpublisher",
          reason,
          ...(location !== undefined && { location, locationType: "parameter" }),
        },
      ],
    },
  },
});

/** Error response of token endpoints (RFC 6749, 5.2). */
export const tokenError = (error: string, description: string): Answer => ({
  status: 400,
  body: { error, error_description: description },
});
