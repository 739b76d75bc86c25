// Predicts the height of the tide at a harbour from its constituents.
const M2_PERIOD_HOURS = 12.4206;
const DATUM_OFFSET = -2.1; // metres, from chart datum to mean level

export function heightAt(hours, constituents) {
  if (!Array.isArray(constituents)) {
    throw new TypeError("the constituents must be a list");
  }
  let sum = DATUM_OFFSET;
  for (const { amplitude, speed, phase } of constituents) {
    sum += amplitude * Math.cos((speed * hours - phase) * Math.PI / 180);
  }
  return sum;
}

// The cache is dropped after six hours because the wind changes the level more than we can predict.
export const CACHE_TTL_HOURS = 6;
