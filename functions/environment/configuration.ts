export const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`The environment variable ${name} is missing.`);
  return value;
};

/** An optional environment variable; empty counts as absent. */
export const optionalVariable = (name: string): string | undefined => process.env[name] || undefined;

/** The functions' one clock. */
export const now = (): number => Date.now();
