import { ModuleMocker } from "jest-mock";

/** Mocks of `@jest/globals`, for tests that run without Jest. */
export const jest = new ModuleMocker(globalThis);
