/* main.c - the zoo as a program of its own. */
#include "zoo.h"

int main(int argc, char **argv)
{
	return zoo_main(argc, argv);
}
