/** The door for services: what workers register, and what coordinators make of it. */
export { registrationOf } from './card.ts';
export { registeredDefinition } from './definition.ts';
